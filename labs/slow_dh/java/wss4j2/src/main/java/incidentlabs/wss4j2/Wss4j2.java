package incidentlabs.wss4j2;

import incidentlabs.server.Stamps;
import org.apache.wss4j.common.ext.WSSecurityException;
import org.apache.wss4j.dom.engine.WSSConfig;
import org.apache.wss4j.dom.message.WSSecHeader;
import org.apache.wss4j.dom.message.WSSecTimestamp;
import org.w3c.dom.Document;

/** Apache wss4j 2.4. */
public final class Wss4j2 implements Stamps {
  @Override
  public void stamp(Document message) throws WSSecurityException {
    WSSConfig.init();
    WSSecHeader header = new WSSecHeader(message);
    header.insertSecurityHeader();
    new WSSecTimestamp(header).build();
  }

  @Override
  public void leaveProvidersAlone() {
    WSSConfig.setAddJceProviders(false);
  }
}
