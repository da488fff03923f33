package incidentlabs.client;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Map;
import org.springframework.stereotype.Component;

/** Many SOAP requests in a row, in this process, so that nothing but them is measured. */
@Component
class Bench {
  static final int MOST = 2000;

  private final SoapClient client;
  private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
  private final OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

  Bench(SoapClient client) {
    this.client = client;
  }

  /**
   * The number of requests asked for.
   *
   * @throws IllegalArgumentException where it is no whole number from 1 to MOST
   */
  static int number(String text) {
    int number = text.matches("[0-9]{1,6}") ? Integer.parseInt(text) : 0;
    if (number < 1 || number > MOST) {
      throw new IllegalArgumentException("n=" + text + " is not a whole number from 1 to " + MOST);
    }
    return number;
  }

  /** What that many requests took: CPU of this process and time in nanoseconds, and the threads it started meanwhile. */
  Map<String, Object> run(int number) {
    long began = System.nanoTime();
    long cpu = system.getProcessCpuTime();
    long started = threads.getTotalStartedThreadCount();
    for (int i = 0; i < number; i++) {
      client.ask();
    }
    return Map.of(
        "requests", number,
        "threads_started", threads.getTotalStartedThreadCount() - started,
        "cpu_ns", system.getProcessCpuTime() - cpu,
        "elapsed_ns", System.nanoTime() - began);
  }
}
