"""Every test here runs against the small catalogue, unless it asks for the real one."""

from support.small_catalogue import small_catalogue as small_catalogue
from support.small_catalogue import teacup_catalogue as teacup_catalogue
