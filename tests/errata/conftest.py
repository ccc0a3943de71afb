"""Property tests are judged by their answers, not by how busy the machine is."""

from hypothesis import settings

settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")
