package incidentlabs.client;

import java.util.List;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.springframework.ws.transport.WebServiceMessageSender;

/** A way to send SOAP messages, under the name by which it is chosen. */
public final class NamedSender {
  private final String name;
  private final Supplier<WebServiceMessageSender> make;

  public NamedSender(String name, Supplier<WebServiceMessageSender> make) {
    this.name = name;
    this.make = make;
  }

  /**
   * Makes the sender of that name, and none of the others.
   *
   * @throws IllegalArgumentException where there is none: one line that says which there are
   */
  static WebServiceMessageSender choose(Stream<NamedSender> senders, String name) {
    List<NamedSender> known = senders.collect(Collectors.toList());
    return known.stream().filter(sender -> sender.name.equals(name)).findFirst()
        .orElseThrow(() -> new IllegalArgumentException("SENDER=" + name + " is not one of: "
            + known.stream().map(sender -> sender.name).sorted().collect(Collectors.joining(", "))))
        .make.get();
  }
}
