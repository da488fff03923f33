package incidentlabs.client.apache4;

import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import org.apache.http.impl.conn.DefaultManagedHttpClientConnection;

/** Reads what the peer still has to say, its close_notify included, before it ends a connection. */
class DrainingConnection extends DefaultManagedHttpClientConnection {
  private static final int BUFFER = 8 * 1024;
  /** The longest wait for a peer that does not close, in milliseconds. */
  private static final int PATIENCE = 1000;

  DrainingConnection() {
    super("draining", BUFFER);
  }

  @Override
  public void close() throws IOException {
    Socket socket = getSocket();
    if (socket != null && !socket.isClosed()) {
      drain(socket);
    }
    super.close();
  }

  static void drain(Socket socket) {
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
