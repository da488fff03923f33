package incidentlabs.client;

import java.util.Map;
import org.springframework.http.HttpStatus;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.ws.client.WebServiceClientException;
import org.springframework.ws.client.WebServiceIOException;

/** The application's own HTTP interface: one SOAP request, or many in a row, measured from inside. */
@RestController
class ClientController {
  private final SoapClient client;
  private final Bench bench;

  ClientController(SoapClient client, Bench bench) {
    this.client = client;
    this.bench = bench;
  }

  @GetMapping("/")
  String get() {
    return client.ask();
  }

  @GetMapping("/bench")
  Map<String, Object> bench(@RequestParam(name = "n", defaultValue = "") String number) {
    return bench.run(Bench.number(number));
  }

  @ExceptionHandler
  ResponseEntity<String> refuse(IllegalArgumentException error) {
    return ResponseEntity.status(HttpStatus.BAD_REQUEST).body(error.getMessage() + "\n");
  }

  @ExceptionHandler
  ResponseEntity<String> unreachable(WebServiceIOException error) {
    return failed("does not answer", error);
  }

  @ExceptionHandler
  ResponseEntity<String> refused(WebServiceClientException error) {
    return failed("answers with an error", error);
  }

  private static ResponseEntity<String> failed(String how, WebServiceClientException error) {
    return ResponseEntity.status(HttpStatus.BAD_GATEWAY).body("the SOAP server " + how + ": " + error.getMessage() + "\n");
  }
}
