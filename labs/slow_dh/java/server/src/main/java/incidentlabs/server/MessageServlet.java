package incidentlabs.server;

import java.io.IOException;
import java.io.StringWriter;
import javax.servlet.ServletException;
import javax.servlet.http.HttpServlet;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import javax.xml.transform.TransformerFactory;
import javax.xml.transform.dom.DOMSource;
import javax.xml.transform.stream.StreamResult;
import org.w3c.dom.Document;
import org.w3c.dom.Element;

/** Answers with a SOAP message that wss4j has put a WS-Security timestamp into. */
final class MessageServlet extends HttpServlet {
  private static final String SOAP = "http://schemas.xmlsoap.org/soap/envelope/";

  private final transient Stamps stamps;
  private final transient Runnable afterwards;

  /** What runs {@code afterwards} does so after each message. */
  MessageServlet(Stamps stamps, Runnable afterwards) {
    this.stamps = stamps;
    this.afterwards = afterwards;
  }

  @Override
  protected void service(HttpServletRequest request, HttpServletResponse response) throws ServletException, IOException {
    try {
      Document message = envelope();
      stamps.stamp(message);
      afterwards.run();
      StringWriter text = new StringWriter();
      TransformerFactory.newInstance().newTransformer().transform(new DOMSource(message), new StreamResult(text));
      response.setContentType("text/xml");
      response.getWriter().println(text);
    } catch (IOException | RuntimeException error) {
      throw error;
    } catch (Exception error) {
      throw new ServletException(error);
    }
  }

  private static Document envelope() throws ParserConfigurationException {
    DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
    factory.setNamespaceAware(true);
    Document document = factory.newDocumentBuilder().newDocument();
    Element envelope = document.createElementNS(SOAP, "soap:Envelope");
    document.appendChild(envelope);
    envelope.appendChild(document.createElementNS(SOAP, "soap:Header"));
    envelope.appendChild(document.createElementNS(SOAP, "soap:Body"));
    return document;
  }
}
