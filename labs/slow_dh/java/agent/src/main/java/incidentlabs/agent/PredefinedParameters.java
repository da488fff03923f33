package incidentlabs.agent;

import java.lang.reflect.Field;
import java.util.Map;

/**
 * The table of ready-made Diffie-Hellman parameters that JSSE has in every version tried, from Java 8 on. Without it JSSE asks
 * the security providers for a key pair by its length, as Java 6 and 7 did. Takes
 * --add-opens java.base/sun.security.ssl=ALL-UNNAMED --add-opens java.base/java.util=ALL-UNNAMED.
 */
final class PredefinedParameters {
  /** Empties the table of this JVM. */
  static void forget() throws ReflectiveOperationException {
    table().clear();
  }

  /** The table itself, from within what keeps others from changing it. */
  static Map<?, ?> table() throws ReflectiveOperationException {
    Field field = Class.forName("sun.security.ssl.PredefinedDHParameterSpecs").getDeclaredField("definedParams");
    field.setAccessible(true);
    Object table = field.get(null);
    Field within = table.getClass().getDeclaredField("m");
    within.setAccessible(true);
    return (Map<?, ?>) within.get(table);
  }

  private PredefinedParameters() {}
}
