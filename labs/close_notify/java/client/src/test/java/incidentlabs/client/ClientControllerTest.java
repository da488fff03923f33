package incidentlabs.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import org.junit.jupiter.api.Test;
import org.springframework.mock.web.MockHttpServletResponse;
import org.springframework.test.web.servlet.MockMvc;
import org.springframework.test.web.servlet.request.MockMvcRequestBuilders;
import org.springframework.test.web.servlet.setup.MockMvcBuilders;
import org.springframework.ws.client.core.WebServiceTemplate;

class ClientControllerTest {
  private static MockHttpServletResponse answer(String url, String path) throws Exception {
    WebServiceTemplate template = new WebServiceTemplate();
    template.setDefaultUri(url);
    SoapClient client = new SoapClient(template);
    MockMvc application = MockMvcBuilders.standaloneSetup(new ClientController(client, new Bench(client))).build();
    return application.perform(MockMvcRequestBuilders.get(path)).andReturn().getResponse();
  }

  private static String nobodyListens() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return "http://127.0.0.1:" + socket.getLocalPort() + "/";
    }
  }

  @Test
  void saysInOneLineThatTheServerIsDown() throws Exception {
    for (String path : new String[] {"/", "/bench?n=3"}) {
      MockHttpServletResponse answer = answer(nobodyListens(), path);
      String said = answer.getContentAsString();
      assertEquals(502, answer.getStatus());
      assertTrue(said.startsWith("the SOAP server does not answer: "), said);
      assertEquals(said.length() - 1, said.indexOf('\n'), said);
    }
  }

  @Test
  void saysInOneLineWhatItTakes() throws Exception {
    MockHttpServletResponse answer = answer(nobodyListens(), "/bench");
    assertEquals(400, answer.getStatus());
    assertEquals("n= is not a whole number from 1 to 2000\n", answer.getContentAsString());
  }
}
