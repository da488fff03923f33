package incidentlabs;

import java.io.IOException;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.handler.AbstractHandler;
import org.eclipse.jetty.util.ssl.SslContextFactory;

/** A Jetty service over TLS that answers every request with 200. Arguments: keystore, its password, ports. */
public final class Service {
  public static void main(String[] args) throws Exception {
    Server server = new Server();
    server.setHandler(ok());
    for (int i = 2; i < args.length; i++) {
      SslContextFactory tls = new SslContextFactory();
      tls.setKeyStorePath(args[0]);
      tls.setKeyStorePassword(args[1]);
      ServerConnector connector = new ServerConnector(server, tls);
      connector.setPort(Integer.parseInt(args[i]));
      server.addConnector(connector);
    }
    server.start();
    server.join();
  }

  private static Handler ok() {
    return new AbstractHandler() {
      @Override
      public void handle(String target, Request base, HttpServletRequest request, HttpServletResponse response)
          throws IOException {
        response.setContentType("text/plain");
        response.getWriter().println("ok");
        base.setHandled(true);
      }
    };
  }

  private Service() {}
}
