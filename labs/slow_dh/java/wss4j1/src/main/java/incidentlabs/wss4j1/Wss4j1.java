package incidentlabs.wss4j1;

import incidentlabs.server.Stamps;
import org.apache.ws.security.WSSConfig;
import org.apache.ws.security.message.WSSecHeader;
import org.apache.ws.security.message.WSSecTimestamp;
import org.w3c.dom.Document;

/** Apache wss4j 1.5. */
public final class Wss4j1 implements Stamps {
  @Override
  public void stamp(Document message) {
    WSSecHeader header = new WSSecHeader();
    header.insertSecurityHeader(message);
    new WSSecTimestamp().build(message, header);
  }

  @Override
  public void leaveProvidersAlone() {
    WSSConfig.setAddJceProviders(false);
  }
}
