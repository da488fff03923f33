package incidentlabs.client.apache4;

import java.io.IOException;
import java.net.Socket;
import org.apache.http.impl.conn.DefaultManagedHttpClientConnection;

/** A connection that is ended otherwise than by HttpClient, which asks whether the peer's close_notify has come. */
abstract class GentleConnection extends DefaultManagedHttpClientConnection {
  static final int BUFFER = 8 * 1024;

  GentleConnection(String id) {
    super(id, BUFFER);
  }

  /** Does what has to be done before an open socket is closed. */
  abstract void end(Socket socket) throws IOException;

  @Override
  public void close() throws IOException {
    Socket socket = getSocket();
    try {
      if (socket != null && !socket.isClosed()) {
        end(socket);
      }
    } finally {
      super.close();
    }
  }
}
