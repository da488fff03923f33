package incidentlabs.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class BenchTest {
  private static SoapClient asking(Runnable question) {
    return new SoapClient(null) {
      @Override
      String ask() {
        question.run();
        return "";
      }
    };
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "0", "-1", "2001", "1e3", "ten", "99999999999999999999", " 5", "5.0"})
  void refusesWhatIsNoNumberOfRequests(String text) {
    String said = assertThrows(IllegalArgumentException.class, () -> Bench.number(text)).getMessage();
    assertEquals("n=" + text + " is not a whole number from 1 to 2000", said);
  }

  @ParameterizedTest
  @ValueSource(strings = {"1", "100", "2000"})
  void takesANumberOfRequests(String text) {
    assertEquals(Integer.parseInt(text), Bench.number(text));
  }

  @Test
  void countsEachThreadThatIsStartedMeanwhile() {
    SoapClient starting = asking(() -> new Thread(() -> {}).start());
    Map<String, Object> measured = new Bench(starting).run(7);
    assertEquals(7, measured.get("requests"));
    assertEquals(7L, measured.get("threads_started"));
  }

  @Test
  void countsNoThreadWhereNoneIsStarted() {
    assertEquals(0L, new Bench(asking(() -> {})).run(7).get("threads_started"));
  }
}
