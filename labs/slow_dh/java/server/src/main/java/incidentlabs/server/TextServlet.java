package incidentlabs.server;

import java.io.IOException;
import java.util.function.Supplier;
import javax.servlet.http.HttpServlet;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;

/** Answers with one line of text. */
final class TextServlet extends HttpServlet {
  private final transient Supplier<String> line;

  TextServlet(Supplier<String> line) {
    this.line = line;
  }

  @Override
  protected void service(HttpServletRequest request, HttpServletResponse response) throws IOException {
    response.setContentType("text/plain");
    response.getWriter().println(line.get());
  }
}
