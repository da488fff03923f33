package incidentlabs.agent;

import static net.bytebuddy.matcher.ElementMatchers.named;
import static net.bytebuddy.matcher.ElementMatchers.none;

import java.lang.instrument.Instrumentation;
import java.security.Provider;
import java.security.Security;
import net.bytebuddy.agent.builder.AgentBuilder;
import net.bytebuddy.asm.Advice;

/**
 * BouncyCastle 1.40 has a key pair generator DH, but not under the name by which JSSE asks for it, DiffieHellman. Every
 * provider with the one name gets the other at the moment it is inserted.
 */
final class ProviderAlias {
  static void addTo(Instrumentation instrumentation) {
    new AgentBuilder.Default()
        .disableClassFormatChanges()
        .with(AgentBuilder.RedefinitionStrategy.RETRANSFORMATION)
        .ignore(none())
        .type(named(Security.class.getName()))
        .transform((builder, type, loader, module, domain) ->
            builder.visit(Advice.to(BeforeInsertion.class).on(named("insertProviderAt"))))
        .installOn(instrumentation);
  }

  /** Copied into Security.insertProviderAt by Byte Buddy, so it may use classes of the JDK only. */
  static final class BeforeInsertion {
    @Advice.OnMethodEnter
    static void enter(@Advice.Argument(0) Provider provider) {
      if (provider.containsKey("KeyPairGenerator.DH") && !provider.containsKey("KeyPairGenerator.DiffieHellman")) {
        provider.putIfAbsent("Alg.Alias.KeyPairGenerator.DIFFIEHELLMAN", "DH");
      }
    }

    private BeforeInsertion() {}
  }

  private ProviderAlias() {}
}
