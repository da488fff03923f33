package incidentlabs.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

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
      if (each != Providers.BOUNCYCASTLE_LAST) {
        each.atStart(stamps);
      }
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
    assertEquals("there is no BouncyCastle here", assertThrows(
        IllegalArgumentException.class, () -> Providers.BOUNCYCASTLE_LAST.atStart(new Told())).getMessage());
  }
}
