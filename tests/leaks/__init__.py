"""Planted leaks and safe controls: releases whose truth is known, to be judged by `unveil audit`."""
