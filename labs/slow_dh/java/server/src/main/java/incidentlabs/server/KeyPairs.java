package incidentlabs.server;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.security.GeneralSecurityException;
import java.security.KeyPairGenerator;
import java.security.SecureRandom;
import java.security.Security;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;

/**
 * Makes Diffie-Hellman key pairs in several threads at once, one each, and prints as JSON how many were made and how long that
 * took; how many random numbers were drawn on the way; and where the threads' time went, in milliseconds of all of them
 * together: on a CPU, and waiting for one another. Arguments: threads; bits; the longest wait in milliseconds; what
 * BouncyCastle is, {@code default} (not there) or {@code bouncycastle} (second); and the threads' source of randomness: the
 * platform's {@code own} for all of them, as JSSE has it, or SHA1PRNG, {@code one} for all or one for {@code each}.
 */
public final class KeyPairs {
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  /** Counts how often it is asked. */
  private static final class Counting extends SecureRandom {
    private static final long serialVersionUID = 1;
    private final transient SecureRandom source;
    private final transient LongAdder drawn;

    Counting(SecureRandom source, LongAdder drawn) {
      this.source = source;
      this.drawn = drawn;
    }

    @Override
    public void nextBytes(byte[] bytes) {
      source.nextBytes(bytes);
      drawn.increment();
    }
  }

  public static void main(String[] arguments) throws Exception {
    int threads = Integer.parseInt(arguments[0]);
    int bits = Integer.parseInt(arguments[1]);
    int patience = Integer.parseInt(arguments[2]);
    if ("bouncycastle".equals(arguments[3])) {
      Security.insertProviderAt(Providers.bouncyCastle(), 2);
    }
    THREADS.setThreadContentionMonitoringEnabled(true);
    LongAdder drawn = new LongAdder();
    boolean own = "own".equals(arguments[4]), each = "each".equals(arguments[4]);
    SecureRandom together = new Counting(own ? new SecureRandom() : SecureRandom.getInstance("SHA1PRNG"), drawn);
    CountDownLatch done = new CountDownLatch(threads);
    AtomicInteger made = new AtomicInteger();
    List<Thread> running = new ArrayList<>();
    for (int i = 0; i < threads; i++) {
      SecureRandom random = each ? new Counting(SecureRandom.getInstance("SHA1PRNG"), drawn) : together;
      Thread thread = new Thread(() -> {
        try {
          KeyPairGenerator generator = KeyPairGenerator.getInstance("DH");
          generator.initialize(bits, random);
          generator.generateKeyPair();
          made.incrementAndGet();
        } catch (GeneralSecurityException | RuntimeException error) {
          System.err.println(error);
        }
        done.countDown();
        // What has ended is not accounted for any more.
        LockSupport.park();
      });
      thread.setDaemon(true);
      running.add(thread);
    }
    String who = KeyPairGenerator.getInstance("DH").getProvider().getName();
    long from = System.nanoTime();
    running.forEach(Thread::start);
    done.await(patience, TimeUnit.MILLISECONDS);
    long took = (System.nanoTime() - from) / 1_000_000;
    long cpu = running.stream().mapToLong(thread -> THREADS.getThreadCpuTime(thread.getId())).sum() / 1_000_000;
    long blocked = running.stream().mapToLong(thread -> THREADS.getThreadInfo(thread.getId()).getBlockedTime()).sum();
    System.out.printf(
        "{\"provider\": \"%s\", \"threads\": %d, \"bits\": %d, \"made\": %d, \"milliseconds\": %d, \"drawn\": %d,"
            + " \"cpu_ms\": %d, \"blocked_ms\": %d}%n",
        who, threads, bits, made.get(), took, drawn.sum(), cpu, blocked);
    System.exit(0);
  }

  private KeyPairs() {}
}
