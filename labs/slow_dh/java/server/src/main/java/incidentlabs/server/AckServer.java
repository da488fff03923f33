package incidentlabs.server;

import java.io.File;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.util.ServiceLoader;
import javax.servlet.Servlet;
import org.apache.catalina.Context;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.startup.Tomcat;

/**
 * The application: takes acknowledgements, and messages with WS-Security, over HTTPS from clients with a certificate.
 * Arguments: keystore, truststore, their password, threads, and what to do about security providers. Port 8080 has no TLS,
 * and tells how they stand, and how long a Diffie-Hellman key is asked for.
 */
public final class AckServer {
  /** What the partner prescribes, and what somebody may think of in its place. */
  private static final String SUITES = "TLS_DHE_RSA_WITH_AES_128_CBC_SHA,TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA";

  public static void main(String[] arguments) throws Exception {
    Stamps stamps = ServiceLoader.load(Stamps.class).iterator().next();
    Providers providers;
    try {
      providers = Providers.named(arguments[4]);
      providers.atStart(stamps);
    } catch (IllegalArgumentException error) {
      System.err.println("start: " + error.getMessage());
      System.exit(2);
      return;
    }
    System.out.println("security providers: " + Providers.inOrder());

    File work = new File(System.getProperty("java.io.tmpdir"));
    Tomcat tomcat = new Tomcat();
    tomcat.setBaseDir(work.getPath());
    tomcat.getService().addConnector(https(arguments[0], arguments[1], arguments[2], arguments[3]));
    Connector plain = connector(8080);
    tomcat.getService().addConnector(plain);
    tomcat.setConnector(plain);

    Context context = tomcat.addContext("", work.getPath());
    add(context, "ack", new TextServlet(() -> "taken"), "/ack");
    add(context, "ws", new MessageServlet(stamps, () -> providers.afterMessage(stamps)), "/ws");
    add(context, "providers", new TextServlet(Providers::inOrder), "/providers");
    add(context, "dh-bits", new TextServlet(() -> System.getProperty("jdk.tls.ephemeralDHKeySize")), "/dh-bits");
    tomcat.start();
    // From here on JSSE's own log, which is long, has a file of its own.
    System.setErr(new PrintStream(new FileOutputStream("jsse.log"), true));
    tomcat.getServer().await();
  }

  private static void add(Context context, String name, Servlet servlet, String path) {
    Tomcat.addServlet(context, name, servlet);
    context.addServletMapping(path, name);
  }

  /** One that gives each connection a thread, as servers of that time did: the handshake is the thread's, too. */
  private static Connector connector(int port) {
    Connector connector = new Connector("org.apache.coyote.http11.Http11Protocol");
    connector.setPort(port);
    return connector;
  }

  private static Connector https(String keystore, String truststore, String password, String threads) {
    Connector connector = connector(8443);
    connector.setSecure(true);
    connector.setScheme("https");
    connector.setAttribute("SSLEnabled", true);
    connector.setAttribute("sslEnabledProtocols", "TLSv1.2");
    connector.setAttribute("ciphers", SUITES);
    connector.setAttribute("keystoreFile", new File(keystore).getAbsolutePath());
    connector.setAttribute("keystoreType", "PKCS12");
    connector.setAttribute("keystorePass", password);
    connector.setAttribute("truststoreFile", new File(truststore).getAbsolutePath());
    connector.setAttribute("truststoreType", "PKCS12");
    connector.setAttribute("truststorePass", password);
    connector.setAttribute("clientAuth", "true");
    connector.setAttribute("maxThreads", threads);
    return connector;
  }

  private AckServer() {}
}
