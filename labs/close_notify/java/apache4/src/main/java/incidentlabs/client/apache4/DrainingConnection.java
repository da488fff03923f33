package incidentlabs.client.apache4;

import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;

/** Reads what the peer still has to say, its close_notify included, before it ends a connection. */
class DrainingConnection extends GentleConnection {
  /** The longest wait for a peer that does not close, in milliseconds. */
  private static final int PATIENCE = 1000;

  DrainingConnection() {
    super("draining");
  }

  @Override
  void end(Socket socket) {
    try {
      socket.setSoTimeout(PATIENCE);
      InputStream rest = socket.getInputStream();
      byte[] unwanted = new byte[BUFFER];
      while (rest.read(unwanted) >= 0) {
        // An answer has been read before: what is left is its connection's end.
      }
    } catch (IOException ignored) {
      // The connection is over either way.
    }
  }
}
