package incidentlabs.load;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LoadTest {
  private static Set<Integer> statuses(List<Sample> samples) {
    return samples.stream().map(sample -> sample.status).collect(Collectors.toSet());
  }

  @Test
  void countsEveryRequestThatTheServerSaw() throws Exception {
    int[] seen = {0};
    HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext("/", exchange -> {
      synchronized (seen) {
        seen[0]++;
      }
      exchange.sendResponseHeaders(200, -1);
      exchange.close();
    });
    server.setExecutor(Executors.newFixedThreadPool(2));
    server.start();
    try {
      List<Sample> made = Load.run(new Plan("http://127.0.0.1:" + server.getAddress().getPort() + "/", "2", "1", "250"));
      assertEquals(seen[0], made.size());
      assertEquals(Set.of(200), statuses(made));
    } finally {
      server.stop(0);
    }
  }

  @Test
  void aRequestWithoutAnAnswerIsCountedWithTheTimeItWaited() throws Exception {
    try (ServerSocket silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
      List<Sample> made = Load.run(new Plan("http://127.0.0.1:" + silent.getLocalPort() + "/", "2", "1", "200"));
      assertEquals(2, made.size());
      assertEquals(Set.of(Sample.NO_ANSWER), statuses(made));
      assertTrue(made.stream().allMatch(sample -> sample.took >= 200), Load.json(made));
    }
  }

  @Test
  void printsOneObjectARequest() {
    assertEquals(
        "[{\"began\": 5, \"took\": 7, \"status\": 200},\n {\"began\": 6, \"took\": 8, \"status\": 0}]",
        Load.json(List.of(new Sample(5, 7, 200), new Sample(6, 8, 0))));
    assertFalse(Load.json(List.of()).contains("{"));
  }

  @ParameterizedTest
  @CsvSource({"1, 10", "50, 20", "67, 30", "75, 30", "76, 5000", "99, 5000", "100, 5000"})
  void percentilesCountWhatGotNoAnswer(int percent, long took) {
    List<Sample> made = List.of(new Sample(0, 30, 200), new Sample(0, 10, 200), new Sample(0, 5000, 0), new Sample(0, 20, 403));
    assertEquals(took, Summary.percentile(made, percent));
  }

  @Test
  void sumsUpByStatus() {
    assertEquals(
        "{\"requests\": 3, \"no answer\": 1, \"status 200\": 2, \"p50 ms\": 7, \"p90 ms\": 9, \"p99 ms\": 9}",
        Summary.json(List.of(new Sample(0, 7, 200), new Sample(0, 9, 0), new Sample(0, 6, 200))));
    assertEquals("{\"requests\": 0, \"p50 ms\": null, \"p90 ms\": null, \"p99 ms\": null}", Summary.json(List.of()));
  }

  @Test
  void refusesAnotherNumberOfArguments() {
    for (String[] given : new String[][] {{}, {"http://a/"}, {"http://a/", "1", "1", "1", "all"}}) {
      assertTrue(assertThrows(IllegalArgumentException.class, () -> new Plan(given)).getMessage().startsWith("usage: load "));
    }
  }

  @ParameterizedTest
  @CsvSource({
    "http://a/, 0, 1, 1, CLIENTS=0 is not a whole number from 1 to 64",
    "http://a/, 1, 301, 1, SECONDS=301 is not a whole number from 1 to 300",
    "http://a/, 1, 1, soon, PATIENCE_MS=soon is not a whole number from 1 to 120000",
    "https://a/, 1, 1, 1, https://a/ is not an http address",
    "nothing, 1, 1, 1, nothing is not an http address",
  })
  void refusesWhatIsNoPlan(String address, String clients, String seconds, String patience, String says) {
    assertEquals(says, assertThrows(
        IllegalArgumentException.class, () -> new Plan(address, clients, seconds, patience)).getMessage());
  }
}
