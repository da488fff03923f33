package incidentlabs.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.springframework.ws.transport.WebServiceMessageSender;
import org.springframework.ws.transport.http.HttpUrlConnectionMessageSender;

class NamedSenderTest {
  private final WebServiceMessageSender wanted = new HttpUrlConnectionMessageSender();

  private Stream<NamedSender> senders() {
    return Stream.of(
        new NamedSender("other", () -> {
          throw new AssertionError("nobody asked for this one");
        }),
        new NamedSender("wanted", () -> wanted));
  }

  @Test
  void makesTheOneThatIsNamed() {
    assertSame(wanted, NamedSender.choose(senders(), "wanted"));
  }

  @Test
  void refusesANameThatNobodyHas() {
    String said = assertThrows(IllegalArgumentException.class, () -> NamedSender.choose(senders(), "curl")).getMessage();
    assertEquals("SENDER=curl is not one of: other, wanted", said);
  }
}
