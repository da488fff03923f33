package incidentlabs.server;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** What the server has done so far: CPU of its process in nanoseconds, and SOAP requests by the caller's address. */
@RestController
class Counters {
  private final OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
  private final Map<String, LongAdder> requests = new ConcurrentHashMap<>();

  void count(String caller) {
    requests.computeIfAbsent(caller, any -> new LongAdder()).increment();
  }

  @GetMapping("/counters")
  Map<String, Object> counters() {
    return Map.of("cpu_ns", system.getProcessCpuTime(), "requests", requests);
  }
}
