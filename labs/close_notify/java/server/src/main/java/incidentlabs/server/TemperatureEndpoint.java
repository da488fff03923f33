package incidentlabs.server;

import java.io.StringReader;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;
import javax.xml.transform.Source;
import javax.xml.transform.stream.StreamSource;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.ws.server.endpoint.annotation.Endpoint;
import org.springframework.ws.server.endpoint.annotation.PayloadRoot;
import org.springframework.ws.server.endpoint.annotation.RequestPayload;
import org.springframework.ws.server.endpoint.annotation.ResponsePayload;

/** Answers one kind of question, with the Connection header that it is told to send. */
@Endpoint
class TemperatureEndpoint {
  static final String NAMESPACE = "urn:incident-labs:temperature";
  private static final String ANSWER = "<temperatureResponse xmlns='" + NAMESPACE + "'><celsius>21</celsius></temperatureResponse>";

  private final HttpServletRequest request;
  private final HttpServletResponse response;
  private final Counters counters;
  private final String connection;

  TemperatureEndpoint(
      HttpServletRequest request, HttpServletResponse response, Counters counters, @Value("${connection}") String connection) {
    this.request = request;
    this.response = response;
    this.counters = counters;
    this.connection = connection;
  }

  @PayloadRoot(namespace = NAMESPACE, localPart = "temperatureRequest")
  @ResponsePayload
  Source temperature(@RequestPayload Source question) {
    counters.count(request.getRemoteAddr());
    boolean closing = request.getServletPath().equals(ServerApplication.CLOSING);
    response.addHeader("Connection", closing ? "close" : connection);
    return new StreamSource(new StringReader(ANSWER));
  }
}
