package incidentlabs.server;

import org.w3c.dom.Document;

/** What a version of wss4j does here. */
public interface Stamps {
  /** Puts a WS-Security timestamp into a SOAP message. */
  void stamp(Document message) throws Exception;

  /** Tells wss4j not to register security providers; a version that never does has nothing to be told. */
  void leaveProvidersAlone();
}
