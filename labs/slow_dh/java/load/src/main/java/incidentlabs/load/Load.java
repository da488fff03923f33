package incidentlabs.load;

import java.io.IOException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;

/**
 * Several clients, each with one request at a time, for some seconds; prints a summary as JSON, or each request of its own. A
 * request that has begun is always counted: without an answer it has taken as long as its client waited.
 */
public final class Load {
  /** Beyond the gateway's own patience, so that it is the gateway that gives up. */
  private static final int GRACE = 5_000;
  /** Between two requests of one client, in milliseconds: how much there is to do does not hang on how fast it is done. */
  private static final int PAUSE = 1_500;

  public static void main(String[] arguments) throws Exception {
    Plan plan;
    try {
      plan = new Plan(arguments);
    } catch (IllegalArgumentException error) {
      System.err.println("load: " + error.getMessage());
      System.exit(2);
      return;
    }
    List<Sample> made = run(plan);
    System.out.println(plan.each ? json(made) : Summary.json(made));
    System.exit(0);
  }

  static List<Sample> run(Plan plan) throws InterruptedException, ExecutionException {
    HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    HttpRequest request = HttpRequest.newBuilder(plan.address)
        .timeout(Duration.ofMillis((long) plan.patience + GRACE))
        .build();
    long end = System.nanoTime() + Duration.ofSeconds(plan.seconds).toNanos();
    Callable<List<Sample>> client = () -> {
      List<Sample> made = new ArrayList<>();
      while (System.nanoTime() < end) {
        made.add(ask(http, request));
        Thread.sleep(PAUSE);
      }
      return made;
    };
    ExecutorService clients = Executors.newFixedThreadPool(plan.clients);
    try {
      List<Future<List<Sample>>> running = new ArrayList<>();
      for (int i = 0; i < plan.clients; i++) {
        running.add(clients.submit(client));
      }
      List<Sample> all = new ArrayList<>();
      for (Future<List<Sample>> each : running) {
        all.addAll(each.get());
      }
      return all;
    } finally {
      clients.shutdownNow();
    }
  }

  private static Sample ask(HttpClient http, HttpRequest request) throws InterruptedException {
    long began = System.currentTimeMillis();
    long from = System.nanoTime();
    int status;
    try {
      status = http.send(request, BodyHandlers.discarding()).statusCode();
    } catch (IOException noAnswer) {
      status = Sample.NO_ANSWER;
    }
    return new Sample(began, (System.nanoTime() - from) / 1_000_000, status);
  }

  static String json(List<Sample> samples) {
    return samples.stream().map(Sample::json).collect(Collectors.joining(",\n ", "[", "]"));
  }

  private Load() {}
}
