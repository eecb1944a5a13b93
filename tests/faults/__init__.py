"""Faults people met elsewhere, each as a small training program that florc must get right."""
