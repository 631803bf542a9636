# SPDX-License-Identifier: Apache-2.0
import pytest

from lab import Lab


@pytest.fixture(params=[4, 6], ids=["ipv4", "ipv6"])
def version(request):
    return request.param


@pytest.fixture
def both(request, version):
    """A lab whose nodes speak IPv6 if the test's version is 6."""
    with Lab(request.node.name, ipv6=version == 6) as made:
        yield made
