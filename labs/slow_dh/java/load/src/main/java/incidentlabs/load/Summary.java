package incidentlabs.load;

import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import java.util.TreeMap;

/** What became of all requests together: how many of each status, and how long they took. */
final class Summary {
  private static final int[] PERCENTILES = {50, 90, 99};

  static String json(List<Sample> samples) {
    Map<Integer, Integer> statuses = new TreeMap<>();
    samples.forEach(sample -> statuses.merge(sample.status, 1, Integer::sum));
    StringJoiner json = new StringJoiner(", ", "{", "}").add("\"requests\": " + samples.size());
    statuses.forEach((status, number) ->
        json.add("\"" + (status == Sample.NO_ANSWER ? "no answer" : "status " + status) + "\": " + number));
    for (int percent : PERCENTILES) {
      json.add("\"p" + percent + " ms\": " + percentile(samples, percent));
    }
    return json.toString();
  }

  /**
   * The time, in milliseconds, within which so many of a hundred requests were over (nearest rank), those that got no answer
   * among them: they count with the time they waited. Null where there is no request.
   */
  static Long percentile(List<Sample> samples, int percent) {
    if (samples.isEmpty()) {
      return null;
    }
    long[] took = samples.stream().mapToLong(sample -> sample.took).sorted().toArray();
    return took[(int) Math.ceil(percent / 100.0 * took.length) - 1];
  }

  private Summary() {}
}
