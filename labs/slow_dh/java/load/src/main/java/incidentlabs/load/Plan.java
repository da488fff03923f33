package incidentlabs.load;

import java.net.URI;

/** What is asked for on the command line: the address, how many at a time, for how long, how long each may take, how it is told. */
final class Plan {
  static final int MOST_CLIENTS = 64;
  static final int MOST_SECONDS = 300;
  static final int LONGEST_PATIENCE = 120_000;

  final URI address;
  final int clients;
  final int seconds;
  /** The longest wait for an answer, in milliseconds. */
  final int patience;
  /** Whether each request is printed, or what became of all of them together. */
  final boolean each;

  /** @throws IllegalArgumentException in one line, where something is not as it has to be */
  Plan(String... arguments) {
    each = arguments.length == 5 && "each".equals(arguments[4]);
    if (arguments.length != 4 && !each) {
      throw new IllegalArgumentException("usage: load ADDRESS CLIENTS SECONDS PATIENCE_MS [each]");
    }
    address = URI.create(arguments[0]);
    if (!"http".equals(address.getScheme()) || address.getHost() == null) {
      throw new IllegalArgumentException(arguments[0] + " is not an http address");
    }
    clients = within("CLIENTS", arguments[1], MOST_CLIENTS);
    seconds = within("SECONDS", arguments[2], MOST_SECONDS);
    patience = within("PATIENCE_MS", arguments[3], LONGEST_PATIENCE);
  }

  private static int within(String name, String text, int most) {
    int number = text.matches("[0-9]{1,7}") ? Integer.parseInt(text) : 0;
    if (number < 1 || number > most) {
      throw new IllegalArgumentException(name + "=" + text + " is not a whole number from 1 to " + most);
    }
    return number;
  }
}
