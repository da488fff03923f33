package incidentlabs.client.apache4;

import incidentlabs.client.NamedSender;
import org.apache.http.conn.HttpConnectionFactory;
import org.apache.http.conn.ManagedHttpClientConnection;
import org.apache.http.conn.routing.HttpRoute;
import org.apache.http.impl.client.HttpClients;
import org.apache.http.impl.conn.ManagedHttpClientConnectionFactory;
import org.apache.http.impl.conn.PoolingHttpClientConnectionManager;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.ws.transport.WebServiceMessageSender;
import org.springframework.ws.transport.http.HttpComponentsMessageSender;

/** Apache HttpClient 4 as it is, and with each of two other ways to end a connection. */
@Configuration
class Apache4Senders {
  @Bean
  NamedSender httpClient() {
    return new NamedSender("http-client", () -> sender(ManagedHttpClientConnectionFactory.INSTANCE));
  }

  @Bean
  NamedSender reflective() {
    return new NamedSender("http-client-reflective", () -> sender((route, config) -> new ReflectiveConnection()));
  }

  @Bean
  NamedSender drain() {
    return new NamedSender("http-client-drain", () -> sender((route, config) -> new DrainingConnection()));
  }

  private static WebServiceMessageSender sender(
      HttpConnectionFactory<HttpRoute, ManagedHttpClientConnection> connections) {
    // Spring-WS writes these headers itself, and HttpClient refuses to see them twice.
    return new HttpComponentsMessageSender(HttpClients.custom()
        .addInterceptorFirst(new HttpComponentsMessageSender.RemoveSoapHeadersInterceptor())
        .setConnectionManager(new PoolingHttpClientConnectionManager(connections))
        .build());
  }
}
