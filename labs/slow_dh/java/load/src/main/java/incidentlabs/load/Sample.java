package incidentlabs.load;

import java.util.Locale;

/** One request. */
final class Sample {
  static final int NO_ANSWER = 0;

  /** When it began, in milliseconds since the epoch, and how many milliseconds it took. */
  final long began;
  final long took;
  /** The status of its answer, or NO_ANSWER. */
  final int status;

  Sample(long began, long took, int status) {
    this.began = began;
    this.took = took;
    this.status = status;
  }

  String json() {
    return String.format(Locale.ROOT, "{\"began\": %d, \"took\": %d, \"status\": %d}", began, took, status);
  }
}
