package incidentlabs.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.security.Provider;
import java.security.Security;
import org.junit.jupiter.api.Test;
import org.w3c.dom.Document;

class ProvidersTest {
  private static final class Told implements Stamps {
    int times;

    @Override
    public void stamp(Document message) {}

    @Override
    public void leaveProvidersAlone() {
      times++;
    }
  }

  @Test
  void wss4jIsToldWhenItIsSaidToBe() {
    for (Providers each : Providers.values()) {
      Told stamps = new Told();
      each.atStart(stamps);
      assertEquals(each == Providers.FLAG_AT_START ? 1 : 0, stamps.times, each.toString());
      each.afterMessage(stamps);
      boolean told = each == Providers.FLAG_AT_START || each == Providers.FLAG_AFTER_FIRST_MESSAGE;
      assertEquals(told ? 1 : 0, stamps.times, each.toString());
    }
  }

  @Test
  void eachHasItsName() {
    for (Providers each : Providers.values()) {
      assertEquals(each, Providers.named(each.toString()));
    }
    String said = assertThrows(IllegalArgumentException.class, () -> Providers.named("first")).getMessage();
    assertTrue(said.startsWith("PROVIDERS=first is none of as-they-come, in-java-security, "), said);
  }

  @Test
  void whereThereIsNoBouncyCastleItIsSaid() {
    assertEquals("there is no BouncyCastle here", assertThrows(IllegalArgumentException.class, Providers::bouncyCastle).getMessage());
  }

  @Test
  void whatIsSecondIsMovedBehindAllOthers() {
    Provider theirs = new Provider("BC", 1.4, "stands for BouncyCastle, whose name it has") {};
    Security.insertProviderAt(theirs, 2);
    try {
      Providers.BOUNCYCASTLE_LAST.afterMessage(new Told());
      assertEquals(theirs, Security.getProviders()[Security.getProviders().length - 1]);
    } finally {
      Security.removeProvider("BC");
    }
  }
}
