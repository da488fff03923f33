package incidentlabs.client;

import java.net.HttpURLConnection;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.ws.client.core.WebServiceTemplate;
import org.springframework.ws.transport.http.HttpUrlConnectionMessageSender;

/** The application under study: each request to it is a SOAP request to the third party. */
@SpringBootApplication
public class ClientApplication {
  public static void main(String[] args) {
    try {
      // Other beans may wait until they are used; a sender that there is not shall not.
      SpringApplication.run(ClientApplication.class, args).getBean(WebServiceTemplate.class);
    } catch (RuntimeException error) {
      // Spring wraps what it was told; the innermost says it in one line.
      Throwable cause = error;
      while (cause.getCause() != null) {
        cause = cause.getCause();
      }
      System.err.println("start: " + cause.getMessage());
      System.exit(2);
    }
  }

  /** What Spring-WS sends with unless told otherwise: the JDK's own {@link HttpURLConnection}. */
  @Bean
  NamedSender urlConnection() {
    return new NamedSender("url-connection", HttpUrlConnectionMessageSender::new);
  }

  @Bean
  WebServiceTemplate template(
      ObjectProvider<NamedSender> senders, @Value("${sender}") String name, @Value("${url}") String url) {
    WebServiceTemplate template = new WebServiceTemplate();
    template.setDefaultUri(url);
    template.setMessageSender(NamedSender.choose(senders.orderedStream(), name));
    return template;
  }
}
