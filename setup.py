"""The packages below `supple`, found: the checkout itself is the package, which pyproject.toml
cannot say together with finding what is in it."""

from setuptools import find_packages, setup

below = find_packages(".", include=["addon", "addon.*", "core", "core.*"])
setup(packages=["supple", *(f"supple.{name}" for name in below)])
