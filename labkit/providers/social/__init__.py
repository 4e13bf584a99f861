"""Identity providers, faked by real servers (document 2, Social login): OAuth 2 and OAuth 1.0a."""
