package incidentlabs.server;

import org.apache.catalina.connector.Connector;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.web.embedded.tomcat.TomcatServletWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.boot.web.servlet.ServletRegistrationBean;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.ws.config.annotation.EnableWs;
import org.springframework.ws.transport.http.MessageDispatcherServlet;

/** The third party: a SOAP service over TLS, whose answers say what becomes of the connection. */
@EnableWs
@SpringBootApplication
public class ServerApplication {
  /** Where every answer ends its connection, whatever the others do: for the client that nobody changes. */
  static final String CLOSING = "/closing/ws";

  public static void main(String[] args) {
    SpringApplication.run(ServerApplication.class, args);
  }

  @Bean
  ServletRegistrationBean<MessageDispatcherServlet> soap(ApplicationContext context) {
    MessageDispatcherServlet servlet = new MessageDispatcherServlet();
    servlet.setApplicationContext(context);
    return new ServletRegistrationBean<>(servlet, "/ws", CLOSING);
  }

  /** A second port, without TLS: counters are read there. */
  @Bean
  WebServerFactoryCustomizer<TomcatServletWebServerFactory> plain(@Value("${plain.port}") int port) {
    return factory -> {
      Connector connector = new Connector();
      connector.setPort(port);
      factory.addAdditionalTomcatConnectors(connector);
    };
  }
}
