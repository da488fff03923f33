package incidentlabs.server;

import java.security.Provider;
import java.security.Security;
import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

/** What the application does about the order of the security providers. */
enum Providers {
  /** Nothing. */
  AS_THEY_COME,
  /** Nothing either: java.security names BouncyCastle, as the last. */
  IN_JAVA_SECURITY,
  /** Tells wss4j at the start to leave them alone. */
  FLAG_AT_START,
  /** Tells wss4j so when it has already been used. */
  FLAG_AFTER_FIRST_MESSAGE,
  /** Moves BouncyCastle behind all others, once somebody has put it elsewhere. */
  BOUNCYCASTLE_LAST;

  private static final String BOUNCYCASTLE = "org.bouncycastle.jce.provider.BouncyCastleProvider";

  /** @throws IllegalArgumentException in one line, where there is no such way */
  static Providers named(String name) {
    for (Providers each : values()) {
      if (each.toString().equals(name)) {
        return each;
      }
    }
    throw new IllegalArgumentException(
        "PROVIDERS=" + name + " is none of " + Arrays.stream(values()).map(Providers::toString).collect(Collectors.joining(", ")));
  }

  void atStart(Stamps stamps) {
    if (this == FLAG_AT_START) {
      stamps.leaveProvidersAlone();
    }
  }

  static Provider bouncyCastle() {
    try {
      return (Provider) Class.forName(BOUNCYCASTLE).getDeclaredConstructor().newInstance();
    } catch (ReflectiveOperationException error) {
      throw new IllegalArgumentException("there is no BouncyCastle here", error);
    }
  }

  void afterMessage(Stamps stamps) {
    if (this == FLAG_AFTER_FIRST_MESSAGE) {
      stamps.leaveProvidersAlone();
    } else if (this == BOUNCYCASTLE_LAST) {
      Provider theirs = Security.getProvider("BC");
      if (theirs != null) {
        Security.removeProvider(theirs.getName());
        Security.addProvider(theirs);
      }
    }
  }

  /** The names of the security providers, in the order in which they are asked. */
  static String inOrder() {
    return Arrays.stream(Security.getProviders()).map(Provider::getName).collect(Collectors.joining(" "));
  }

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
