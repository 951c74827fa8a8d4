"""RFC 7928: its guidelines for characterising disciplines, and the claims of four RFCs."""
