package incidentlabs.client;

import java.io.StringReader;
import java.io.StringWriter;
import javax.xml.transform.stream.StreamResult;
import javax.xml.transform.stream.StreamSource;
import org.springframework.stereotype.Component;
import org.springframework.ws.client.core.WebServiceTemplate;

/** Asks the third party for the temperature. */
@Component
class SoapClient {
  private static final String QUESTION = "<temperatureRequest xmlns='urn:incident-labs:temperature'/>";

  private final WebServiceTemplate template;

  SoapClient(WebServiceTemplate template) {
    this.template = template;
  }

  /** Returns the payload of the answer. */
  String ask() {
    StringWriter answer = new StringWriter();
    template.sendSourceAndReceiveToResult(new StreamSource(new StringReader(QUESTION)), new StreamResult(answer));
    return answer.toString();
  }
}
