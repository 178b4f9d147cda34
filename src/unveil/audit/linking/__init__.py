"""Identity disclosure of one release: whose row is whose, and is who is alone here alone in the population?"""

from unveil.audit.linking.run import Link, run_link

__all__ = ["Link", "run_link"]
