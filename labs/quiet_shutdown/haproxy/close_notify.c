/*
 * Before it closes a health check, HAProxy asks OpenSSL to close quietly: no close_notify.
 * Preloaded, this function takes the place of OpenSSL's and does not listen.
 */
typedef struct ssl_st SSL;

void SSL_set_quiet_shutdown(SSL *ssl, int mode) {
  (void)ssl;
  (void)mode;
}
