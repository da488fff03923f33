package incidentlabs.client.apache4;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import org.junit.jupiter.api.Test;

class GentleConnectionTest {
  @Test
  void isClosedEvenWhereItCannotBeEndedGently() throws IOException {
    try (ServerSocket listener = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        Socket socket = new Socket(listener.getInetAddress(), listener.getLocalPort())) {
      GentleConnection connection = new GentleConnection("failing") {
        @Override
        void end(Socket open) throws IOException {
          throw new IOException("not gently");
        }
      };
      connection.bind(socket);
      assertThrows(IOException.class, connection::close);
      assertTrue(socket.isClosed());
    }
  }
}
