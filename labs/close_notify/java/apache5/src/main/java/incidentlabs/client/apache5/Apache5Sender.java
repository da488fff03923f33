package incidentlabs.client.apache5;

import incidentlabs.client.NamedSender;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.ws.transport.http.HttpComponents5ClientFactory;
import org.springframework.ws.transport.http.SimpleHttpComponents5MessageSender;

/** Apache HttpClient 5, as today's Spring-WS makes it by itself. */
@Configuration
class Apache5Sender {
  @Bean
  NamedSender httpClient5() {
    return new NamedSender(
        "http-client-5", () -> new SimpleHttpComponents5MessageSender(HttpComponents5ClientFactory.withDefaults()));
  }
}
