package incidentlabs.wss4j1;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.security.Security;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.w3c.dom.Document;

class Wss4j1Test {
  /** It remembers for as long as the JVM lives whether it has registered it, so there is one test. */
  @Test
  void stampsAndRegistersBouncyCastleSecond() throws Exception {
    assertNull(Security.getProvider("BC"));
    DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
    factory.setNamespaceAware(true);
    Document message = factory.newDocumentBuilder().newDocument();
    String soap = "http://schemas.xmlsoap.org/soap/envelope/";
    message.appendChild(message.createElementNS(soap, "soap:Envelope")).appendChild(message.createElementNS(soap, "soap:Body"));
    new Wss4j1().stamp(message);
    assertEquals(1, message.getElementsByTagNameNS("*", "Timestamp").getLength());
    assertEquals("BC", Security.getProviders()[1].getName());
  }
}
