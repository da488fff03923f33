package incidentlabs.agent;

import java.lang.instrument.Instrumentation;
import java.util.List;

/**
 * Makes up for versions of that time that cannot be had, and does nothing else. The agent's arguments say in which way, with
 * a comma between them: {@code parameters} and {@code alias}.
 */
public final class Agent {
  private static final List<String> KNOWN = List.of("parameters", "alias");

  public static void premain(String arguments, Instrumentation instrumentation) throws ReflectiveOperationException {
    List<String> asked = arguments == null || arguments.isEmpty() ? List.of() : List.of(arguments.split(","));
    for (String each : asked) {
      if (!KNOWN.contains(each)) {
        throw new IllegalArgumentException("agent: " + each + " is neither " + String.join(" nor ", KNOWN));
      }
    }
    if (asked.contains("parameters")) {
      PredefinedParameters.forget();
    }
    if (asked.contains("alias")) {
      ProviderAlias.addTo(instrumentation);
    }
  }

  private Agent() {}
}
