"""The provider of push, SMS and chat (document 3, Notify), faked by a real server that its public SDK can talk to."""
