package incidentlabs.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.security.KeyPairGenerator;
import java.security.Provider;
import java.security.Security;
import net.bytebuddy.agent.ByteBuddyAgent;
import org.junit.jupiter.api.Test;

class AgentTest {
  /** Has DH, and an alias or not, as the versions of BouncyCastle do. */
  static final class Some extends Provider {
    Some(String name, boolean alias) {
      super(name, "1", "for tests");
      put("KeyPairGenerator.DH", KeyPairGenerator.class.getName());
      if (alias) {
        put("KeyPairGenerator.DiffieHellman", "own");
      }
    }
  }

  @Test
  void forgetsThePredefinedParameters() throws Exception {
    assertFalse(PredefinedParameters.table().isEmpty(), "there is something to forget");
    Agent.premain("parameters", null);
    assertTrue(PredefinedParameters.table().isEmpty());
  }

  @Test
  void givesAProviderTheNameThatJsseAsksFor() throws Exception {
    Agent.premain("alias", ByteBuddyAgent.install());
    Provider lacking = new Some("lacking", false);
    Provider complete = new Some("complete", true);
    try {
      Security.insertProviderAt(lacking, 2);
      Security.insertProviderAt(complete, 2);
      assertEquals("DH", lacking.get("Alg.Alias.KeyPairGenerator.DIFFIEHELLMAN"));
      assertNull(complete.get("Alg.Alias.KeyPairGenerator.DIFFIEHELLMAN"));
    } finally {
      Security.removeProvider("lacking");
      Security.removeProvider("complete");
    }
  }

  @Test
  void refusesWhatItDoesNotKnow() {
    String said = assertThrows(IllegalArgumentException.class, () -> Agent.premain("parameters,other", null)).getMessage();
    assertEquals("agent: other is neither parameters nor alias", said);
  }
}
