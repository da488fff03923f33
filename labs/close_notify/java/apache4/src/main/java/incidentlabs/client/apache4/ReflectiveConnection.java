package incidentlabs.client.apache4;

import java.io.IOException;
import java.lang.reflect.Method;
import java.net.Socket;

/**
 * Ends a connection as the JDK's own client does: the input is shut without asking whether the peer's close_notify has
 * come. The method that does so is private to the JDK: from Java 17 on it takes
 * --add-opens java.base/sun.security.ssl=ALL-UNNAMED.
 */
class ReflectiveConnection extends GentleConnection {
  ReflectiveConnection() {
    super("reflective");
  }

  @Override
  void end(Socket socket) throws IOException {
    doFlush();
    socket.shutdownOutput();
    shutdownInputUnasked(socket);
    socket.close();
  }

  private static void shutdownInputUnasked(Socket socket) throws IOException {
    try {
      Method shutdownInput = socket.getClass().getDeclaredMethod("shutdownInput", boolean.class);
      shutdownInput.setAccessible(true);
      shutdownInput.invoke(socket, false);
    } catch (ReflectiveOperationException | RuntimeException error) {
      throw new IOException(socket.getClass() + " has no shutdownInput(boolean) that can be called here", error);
    }
  }
}
