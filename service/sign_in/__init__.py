"""Sign-in by an institution, for services that use OpenID Connect or a trusted proxy."""
