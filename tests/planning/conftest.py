"""Makes every test in this folder use the small catalogue by default."""

from support.small_catalogue import small_catalogue as small_catalogue
from support.small_catalogue import teacup_catalogue as teacup_catalogue
