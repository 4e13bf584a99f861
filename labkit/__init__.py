"""A laboratory for an IoT platform in one Python process."""
