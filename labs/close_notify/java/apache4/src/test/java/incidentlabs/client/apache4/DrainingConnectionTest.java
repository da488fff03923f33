package incidentlabs.client.apache4;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTimeout;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class DrainingConnectionTest {
  @Test
  void readsWhatThePeerStillHasToSay() throws IOException {
    try (ServerSocket listener = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        Socket socket = new Socket(listener.getInetAddress(), listener.getLocalPort())) {
      try (Socket peer = listener.accept()) {
        peer.getOutputStream().write(new byte[20_000]);
      }
      new DrainingConnection().end(socket);
      assertEquals(-1, socket.getInputStream().read());
    }
  }

  @Test
  void doesNotWaitForeverForAPeerThatSaysNothing() throws IOException {
    try (ServerSocket listener = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        Socket socket = new Socket(listener.getInetAddress(), listener.getLocalPort());
        Socket peer = listener.accept()) {
      assertTimeout(Duration.ofSeconds(10), () -> new DrainingConnection().end(socket));
      assertFalse(peer.isClosed());
    }
  }
}
